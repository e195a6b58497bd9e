"""What the slash commands of both front ends do, without a front end: what a number behind one means, which code is
taken, how an option is set, how a template is filled. Nothing is printed or asked here."""
