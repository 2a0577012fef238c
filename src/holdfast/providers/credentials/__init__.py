"""Keys of providers: where they are kept, the system keyring, and keeping them out of everything else."""
