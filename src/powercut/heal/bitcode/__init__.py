"""Static dependences of a service, from the LLVM bitcode that the user gives: they refine the order of a plan."""
