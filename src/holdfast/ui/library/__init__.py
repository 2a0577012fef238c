"""The front door for programs: `holdfast.open_session`, a client of the session host as every other surface."""
