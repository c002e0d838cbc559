"""What the modules of frameworks, such as `ragtriage.langchain`, share."""
