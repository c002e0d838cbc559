"""Reports: what was found out as documents (values), and what renders them: the terminal, Markdown, HTML pages."""
