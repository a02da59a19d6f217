# The reader of the simulator's programs, JSON and compressed.
weft_fuzzer(program_reader SOURCES program_reader.cpp LINK weft_pim_reader)
