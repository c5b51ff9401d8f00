"""Who can check it: certificates made from answers, and verified from their JSON alone."""
