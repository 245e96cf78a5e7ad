"""The model: Kubernetes objects as Maar reads them, quantities, reasons, events, writes and the plan."""
