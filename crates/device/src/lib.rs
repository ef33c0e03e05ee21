//! The switch without I/O: ports, pipeline, queues; time is an argument.
