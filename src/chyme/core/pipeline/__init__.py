"""How a file is carried through its digesters: plan, attempts, retries, leases, recovery."""
