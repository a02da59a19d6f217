# The reader of measurement tables.
weft_fuzzer(calibrate_table SOURCES calibrate_table.cpp LINK stage_calibrate)
