"""What is on while the recorder runs a model, and answers for the world around it.

`surroundings` enters all of it at once; the others each stand for one thing: messages, files, threads,
the clock, errors that are caught, another library's loops."""
