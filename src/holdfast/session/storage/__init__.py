"""The journal on disk: SQLite, blobs, the write-ahead log, salvage, the lease."""
