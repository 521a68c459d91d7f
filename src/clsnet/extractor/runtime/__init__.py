"""Running a frozen network: OpenVINO or ONNX Runtime on a CPU, torch on a GPU."""
