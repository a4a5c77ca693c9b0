"""zarrista, which has arrays of the `zarrs` crate. It opens files, and returns its own tensors."""

import importlib.metadata

import numpy as np
import zarrista

from runner import checksum, checksum_of_lines, timed


class Program:
    def __init__(self, _name, threads):
        self.version = importlib.metadata.version("zarrista")
        self.options = {"concurrent_target": threads}

    def prepare(self, case):
        if case.far:
            raise NotImplementedError("its stores of objects are asynchronous, and its arrays have another interface")
        operation = getattr(self, "do_" + case.operation.replace("-", "_"))
        if case.operation == "write":
            source = case.source()
            return lambda: operation(case, source)
        return lambda: operation(case)

    def open(self, case):
        return zarrista.Array.open(zarrista.store.FilesystemStore(str(case.folder)), "/array")

    def elements(self, array, box=...):
        return array.retrieve_array_subset(box, **self.options).to_numpy()

    def do_read(self, case):
        array = self.open(case)
        found, seconds = timed(lambda: self.elements(array))
        return seconds, checksum(found)

    do_read_values = do_read
    do_read_ndarray = do_read

    def do_write(self, case, source):
        if case.data_type == "string":
            raise NotImplementedError("it does not accept arrays of strings")
        case.write_empty_array()
        array = self.open(case)
        boxes = case.boxes or [tuple(slice(0, length) for length in case.shape)]
        source = np.ascontiguousarray(source)

        def work():
            for box in boxes:
                array.store_array_subset(box, source, **self.options)

        _, seconds = timed(work)
        return seconds, checksum(source)

    def do_chunks(self, case):
        return self.one_by_one(case, case.chunk_slices())

    def do_boxes(self, case):
        return self.one_by_one(case, case.boxes)

    def one_by_one(self, case, boxes):
        array = self.open(case)
        total = found = 0
        for box in boxes:
            elements, seconds = timed(lambda box=box: self.elements(array, box))
            total += seconds
            found = checksum(elements, found)
        return total, found

    # zarrista cannot read several parts in one call.
    do_boxes_at_once = do_boxes

    def do_open(self, case):
        def work():
            group = zarrista.Group.open(zarrista.store.FilesystemStore(str(case.folder)))
            return group.child_arrays()

        arrays, seconds = timed(work)
        lines = (f"{array.path} [{', '.join(map(str, array.shape))}]" for array in arrays)
        return seconds, checksum_of_lines(lines)
