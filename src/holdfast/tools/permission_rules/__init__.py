"""Rules of the user and of a project about calls: denied, always asked about, or allowed. Pure."""
