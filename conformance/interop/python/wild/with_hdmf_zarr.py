"""A recording in the form of Neurodata Without Borders, by hdmf-zarr."""

from datetime import datetime, timezone

import numpy as np
from hdmf_zarr.nwb import NWBZarrIO
from pynwb import NWBFile, TimeSeries

ABOUT = "A recording of Neurodata Without Borders: time series, tables with ragged columns, and texts."
PACKAGES = ["hdmf-zarr", "pynwb", "zarr"]

START = datetime(2020, 1, 1, tzinfo=timezone.utc)


def recording() -> NWBFile:
    file = NWBFile("stored by hdmf-zarr", "a-fixed-identifier", START, file_create_date=START)
    data = (np.arange(40) ** 2 % 127).reshape(20, 2).astype("i2")
    file.add_acquisition(TimeSeries(name="voltage", data=data, unit="volts", rate=1000.0, conversion=0.5))
    file.add_trial_column("stimulus", "What was shown")
    for number in range(3):
        file.add_trial(start_time=float(number), stop_time=number + 0.5, stimulus=f"image é {number}")
    file.add_unit(spike_times=[0.1, 0.2, 0.7])
    file.add_unit(spike_times=[0.3])
    return file


def write(index) -> None:
    store = "recording.zarr"
    with NWBZarrIO(index.path(store), mode="w") as io:
        io.write(recording(), cache_spec=False)
    with NWBZarrIO(index.path(store), mode="r") as io:
        read = io.read()
        assert np.array_equal(read.acquisition["voltage"].data[:], recording().acquisition["voltage"].data)
        assert read.units["spike_times"][0].tolist() == [0.1, 0.2, 0.7]
    index.expect_all(store)
