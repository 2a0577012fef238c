"""What a compaction may leave out, chosen from sizes alone."""
