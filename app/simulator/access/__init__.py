"""Who may do what: users, tokens of service accounts, and RBAC."""
