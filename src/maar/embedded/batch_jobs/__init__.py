"""Jobs of batch/v1 as Kubernetes' job controller runs them: decided from stored objects, free of I/O."""
