"""One evaluation over many processes and machines: planned in partitions, kept as a record set, read as a run."""
