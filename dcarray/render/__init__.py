"""IR to text.  Each renderer writes one language; none opens a device."""
