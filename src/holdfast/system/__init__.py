"""The operating system: durable files, threads, git repositories."""
