"""The fast column code behind trimmed means and medians."""
