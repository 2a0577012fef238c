"""The wall around a command: what it can see, write and reach, enforced by the kernel."""
