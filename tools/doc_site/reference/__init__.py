"""The reference, generated from what the programs themselves read: commands, fields, reasons, rules."""
