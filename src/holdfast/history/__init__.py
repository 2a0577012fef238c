"""What a provider accepts; pure. The named rules and repairs are the next thing to be built here."""
