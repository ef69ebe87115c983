"""What the commands of `pumice` do; `app.cli` names them and their options. One module for each command."""
