"""What the kernel is asked for: filters of system calls, and rules of Landlock."""
