"""The one executor: in process, over several processes, or on Ray."""
