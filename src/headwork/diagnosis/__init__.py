"""What an answer says: read it, mark it, and name the rule that gives exactly its numbers."""
