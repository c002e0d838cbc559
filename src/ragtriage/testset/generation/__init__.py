"""From a relational database to questions with true answers, in six steps with a file each."""
