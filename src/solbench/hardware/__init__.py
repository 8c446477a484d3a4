"""Devices: peak rates with units in their names and a source each, and what is measured at hand."""

from solbench.hardware._calibrate import calibrate, cpu_hardware
from solbench.hardware._calibration import Calibration, calibration_folder, stored_calibration
from solbench.hardware._device import Hardware
from solbench.hardware._files import HardwareFile, known_hardware, read_hardware_file
from solbench.hardware._load import detect_hardware, hardware_named, load_hardware

__all__ = [
    "Calibration",
    "Hardware",
    "HardwareFile",
    "calibrate",
    "calibration_folder",
    "cpu_hardware",
    "detect_hardware",
    "hardware_named",
    "known_hardware",
    "load_hardware",
    "read_hardware_file",
    "stored_calibration",
]
