"""Messages of pydantic-ai as its adapter writes them: read, checked and written."""
