"""The rights of Landlock as the rules name them, as bits of the kernel's."""

from __future__ import annotations

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
ALL_FILES = (1 << 16) - 1
"""All that version 5 and later know about files."""

OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
"""Those that a rule about a single file may have."""

READ = EXECUTE | READ_FILE | READ_DIR
LIST_NAMES = READ_DIR
WRITE = ALL_FILES
WRITE_DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEVICE
