"""The documentation site: pages of docs/, and the reference that is made from the code when the site is built."""
