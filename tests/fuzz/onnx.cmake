weft_fuzzer(onnx SOURCES onnx.cpp LINK stage_frontend)
