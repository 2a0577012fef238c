"""What people and programs see: every serialiser of the one event stream; none of them owns a loop."""
