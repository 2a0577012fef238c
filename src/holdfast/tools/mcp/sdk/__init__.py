"""What speaks through the official SDK: connections, calls, questions. Imported when the first server is needed."""
