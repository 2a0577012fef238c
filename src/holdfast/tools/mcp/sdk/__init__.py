"""The part that uses the official SDK: connections, calls, questions. Imported when the first server is needed."""
