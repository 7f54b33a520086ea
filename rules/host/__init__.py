"""The host: what is converted, copied or read there in each step while the device waits."""
