"""Keys of providers: where they are stored, the system keyring, and redaction everywhere else."""
