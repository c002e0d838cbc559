"""From metrics to questions: what each step means, in which order steps are taken, and what is asked for one."""
