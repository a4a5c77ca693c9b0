//! The interpreter of opcodes. It creates the objects of an allow-list, and calls nothing.

use zarr_spec::{CodecError, CodecResult};

use crate::numbers;
use crate::numpy;
use crate::objects::{Id, MAX_OBJECTS, Name, Object, Objects};
use crate::opcodes;
use crate::reader::{Reader, quoted, unescaped};

/// Newest protocol.
const MAX_PROTOCOL: u8 = 5;

/// The functions and types that a pickle may name. NumPy 2 has other modules than NumPy 1.
const NAMES: [(&[&str], &str, Name); 8] = [
    (&["numpy.core.multiarray", "numpy._core.multiarray"], "_reconstruct", Name::Reconstruct),
    (&["numpy.core.multiarray", "numpy._core.multiarray"], "scalar", Name::Scalar),
    (&["numpy.core.numeric", "numpy._core.numeric"], "_frombuffer", Name::FromBuffer),
    (&["numpy"], "ndarray", Name::Array),
    (&["numpy"], "dtype", Name::Type),
    (&["_codecs"], "encode", Name::Encode),
    (&["builtins", "__builtin__"], "bytes", Name::Bytes),
    (&["builtins", "__builtin__"], "bytearray", Name::Bytes),
];

/// An interpreter.
struct Machine<'e> {
    reader: Reader<'e>,
    objects: Objects,
    stack: Vec<Id>,
    /// The heights of the stack at the marks.
    marks: Vec<usize>,
    memo: Vec<Option<Id>>,
    /// The number of objects in the memo.
    remembered: usize,
}

/// Interprets a pickle, and returns its objects and the result.
///
/// # Errors
///
/// [`CodecError::Corrupt`] for a pickle that Python does not write, for an opcode or a name that is not on the lists, and
/// for too many objects.
pub(crate) fn run(encoded: &[u8]) -> CodecResult<(Objects, Id)> {
    let mut machine = Machine {
        reader: Reader::new(encoded),
        objects: Objects::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        remembered: 0,
    };
    loop {
        let opcode =
            machine.reader.u8().map_err(|_| CodecError::corrupt("the pickle ends without a result"))?;
        if opcode == b'.' {
            let result = machine.pop()?;
            return Ok((machine.objects, result));
        }
        if !(machine.literal(opcode)? || machine.text(opcode)? || machine.container(opcode)?) {
            machine.other(opcode)?;
        }
        if machine.stack.len().max(machine.marks.len()) > MAX_OBJECTS {
            return Err(CodecError::corrupt(format!(
                "the stack of the pickle exceeds {MAX_OBJECTS} objects"
            )));
        }
    }
}

impl Machine<'_> {
    fn push(&mut self, object: Object) -> CodecResult {
        let id = self.objects.add(object)?;
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> CodecResult<Id> {
        let lowest = self.marks.last().copied().unwrap_or(0);
        self.stack.pop().filter(|_| self.stack.len() >= lowest).ok_or_else(empty)
    }

    fn top(&self) -> CodecResult<Id> {
        self.stack.last().copied().ok_or_else(empty)
    }

    /// Removes and returns the objects above the last mark.
    fn since_mark(&mut self) -> CodecResult<Vec<Id>> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len());
        let mark = mark.ok_or_else(|| CodecError::corrupt("the pickle lacks a mark"))?;
        let items = self.stack.split_off(mark);
        self.objects.count_references(items.len())?;
        Ok(items)
    }

    /// Executes an opcode for a number, a boolean or `None`. Returns whether it is one.
    fn literal(&mut self, opcode: u8) -> CodecResult<bool> {
        let digits = match opcode {
            b'N' => return self.constant(Id::NONE),
            0x88 => return self.constant(Id::TRUE),
            0x89 => return self.constant(Id::FALSE),
            b'I' => match self.reader.text_line()? {
                "01" => return self.constant(Id::TRUE),
                "00" => return self.constant(Id::FALSE),
                line => numbers::decimal(line)?,
            },
            b'L' => {
                let line = self.reader.text_line()?;
                numbers::decimal(line.strip_suffix('L').unwrap_or(line))?
            }
            b'J' => self.reader.i32()?.to_string(),
            b'K' => self.reader.u8()?.to_string(),
            b'M' => self.reader.u16()?.to_string(),
            0x8a => numbers::of_bytes(self.reader.bytes_1()?)?,
            0x8b => numbers::of_bytes(self.reader.bytes_4()?)?,
            b'F' => {
                let line = self.reader.text_line()?;
                let float =
                    line.parse().map_err(|_| CodecError::corrupt("a float of the pickle is not a number"))?;
                self.push(Object::Float(float))?;
                return Ok(true);
            }
            b'G' => {
                let float = self.reader.big_endian_float()?;
                self.push(Object::Float(float))?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.push(Object::Int(digits.into()))?;
        Ok(true)
    }

    fn constant(&mut self, id: Id) -> CodecResult<bool> {
        self.stack.push(id);
        Ok(true)
    }

    /// Executes an opcode for text or bytes. Returns whether it is one.
    fn text(&mut self, opcode: u8) -> CodecResult<bool> {
        let utf_8 = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes);
            text.map(|text| Object::Text(text.into())).map_err(|_| CodecError::corrupt("a text is not UTF-8"))
        };
        let object = match opcode {
            b'V' => Object::Text(unescaped(self.reader.line()?)?.into()),
            b'X' => utf_8(self.reader.bytes_4()?)?,
            0x8c => utf_8(self.reader.bytes_1()?)?,
            0x8d => utf_8(self.reader.bytes_8()?)?,
            b'B' => Object::Bytes(self.reader.bytes_4()?.into()),
            b'C' => Object::Bytes(self.reader.bytes_1()?.into()),
            0x8e | 0x96 => Object::Bytes(self.reader.bytes_8()?.into()),
            b'S' => Object::ByteString(quoted(self.reader.text_line()?)?.into()),
            b'T' => Object::ByteString(self.reader.bytes_4()?.into()),
            b'U' => Object::ByteString(self.reader.bytes_1()?.into()),
            _ => return Ok(false),
        };
        self.push(object)?;
        Ok(true)
    }

    /// Executes an opcode for a list, a tuple or a dictionary. Returns whether it is one.
    fn container(&mut self, opcode: u8) -> CodecResult<bool> {
        match opcode {
            b']' => self.push(Object::List(Vec::new()))?,
            b')' => self.push(Object::Tuple(Box::default()))?,
            b'}' => self.push(Object::Dict(Vec::new()))?,
            b'l' => {
                let items = self.since_mark()?;
                self.push(Object::List(items))?;
            }
            b't' => {
                let items = self.since_mark()?;
                self.push(Object::Tuple(items.into()))?;
            }
            b'd' => {
                let items = self.since_mark()?;
                self.push(Object::Dict(pairs(&items)?))?;
            }
            0x85..=0x87 => self.short_tuple((opcode - 0x84).into())?,
            b'a' => {
                let item = self.pop()?;
                self.objects.count_references(1)?;
                self.append(&[item])?;
            }
            b'e' => {
                let items = self.since_mark()?;
                self.append(&items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.objects.count_references(2)?;
                self.set(&[key, value])?;
            }
            b'u' => {
                let items = self.since_mark()?;
                self.set(&items)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn short_tuple(&mut self, length: usize) -> CodecResult {
        let mut items = vec![Id::NONE; length];
        for item in items.iter_mut().rev() {
            *item = self.pop()?;
        }
        self.objects.count_references(length)?;
        self.push(Object::Tuple(items.into()))
    }

    fn append(&mut self, items: &[Id]) -> CodecResult {
        let list = self.top()?;
        match self.objects.get_mut(list) {
            Some(Object::List(list)) => {
                list.extend_from_slice(items);
                Ok(())
            }
            _ => Err(CodecError::corrupt("the pickle appends to an object that is not a list")),
        }
    }

    fn set(&mut self, items: &[Id]) -> CodecResult {
        let members = pairs(items)?;
        let dictionary = self.top()?;
        match self.objects.get_mut(dictionary) {
            Some(Object::Dict(dictionary)) => {
                dictionary.extend(members);
                Ok(())
            }
            _ => Err(CodecError::corrupt("the pickle sets items of an object that is not a dictionary")),
        }
    }

    /// Executes the other opcodes: of the stack, the memo, names and functions.
    fn other(&mut self, opcode: u8) -> CodecResult {
        match opcode {
            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.discard(),
            b'1' => drop(self.since_mark()?),
            b'2' => self.stack.push(self.top()?),
            0x80 => {
                let protocol = self.reader.u8()?;
                if protocol > MAX_PROTOCOL {
                    return Err(CodecError::corrupt(format!("protocol {protocol} of a pickle is unknown")));
                }
            }
            // The size of the following opcodes, which are read one by one.
            0x95 => drop(self.reader.bytes(8)?),
            b'p' => {
                let line = self.reader.text_line()?;
                self.remember(memo_key(line)?)?;
            }
            b'q' => {
                let key = self.reader.u8()?;
                self.remember(key.into())?;
            }
            b'r' => {
                let key = self.reader.u32()?;
                self.remember(key)?;
            }
            0x94 => self.remember(self.remembered)?,
            b'g' => {
                let line = self.reader.text_line()?;
                self.recall(memo_key(line)?)?;
            }
            b'h' => {
                let key = self.reader.u8()?;
                self.recall(key.into())?;
            }
            b'j' => {
                let key = self.reader.u32()?;
                self.recall(key)?;
            }
            b'c' => {
                let module = self.reader.text_line()?;
                let name = self.reader.text_line()?;
                self.name(module, name)?;
            }
            0x93 => {
                let name = self.pop()?;
                let module = self.pop()?;
                let module = self.objects.text(module)?.to_owned();
                let name = self.objects.text(name)?.to_owned();
                self.name(&module, &name)?;
            }
            b'R' => self.call()?,
            b'b' => self.set_state()?,
            opcode => return Err(unknown(opcode)),
        }
        Ok(())
    }

    /// Removes the topmost object, or the mark above it.
    fn discard(&mut self) {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
        } else {
            self.stack.pop();
        }
    }

    fn remember(&mut self, key: usize) -> CodecResult {
        if key >= MAX_OBJECTS {
            return Err(CodecError::corrupt(format!("the memo of the pickle exceeds {MAX_OBJECTS} objects")));
        }
        let id = self.top()?;
        if key >= self.memo.len() {
            self.memo.resize(key + 1, None);
        }
        if self.memo[key].replace(id).is_none() {
            self.remembered += 1;
        }
        Ok(())
    }

    fn recall(&mut self, key: usize) -> CodecResult {
        let id = self.memo.get(key).copied().flatten();
        self.stack
            .push(id.ok_or_else(|| CodecError::corrupt(format!("the memo of the pickle lacks {key}")))?);
        Ok(())
    }

    fn name(&mut self, module: &str, name: &str) -> CodecResult {
        let known = NAMES.iter().find(|(modules, known, _)| *known == name && modules.contains(&module));
        match known {
            Some((.., name)) => self.push(Object::Name(*name)),
            None => Err(CodecError::corrupt(format!(
                "the pickle names `{module}.{name}`, which is refused: this reader only creates lists, dictionaries, \
                 text, numbers and arrays of NumPy"
            ))),
        }
    }

    fn call(&mut self) -> CodecResult {
        let arguments = self.pop()?;
        let function = self.pop()?;
        let Object::Name(name) = *self.objects.get(function) else {
            let kind = self.objects.get(function).kind();
            return Err(CodecError::corrupt(format!("the pickle calls {kind}")));
        };
        let arguments = self.objects.tuple(arguments)?.to_vec();
        let object = numpy::create(&self.objects, name, &arguments)?;
        self.push(object)
    }

    fn set_state(&mut self) -> CodecResult {
        let state = self.pop()?;
        let object = self.top()?;
        let changed = match self.objects.get(object) {
            Object::Array(_) => Object::Array(Some(Box::new(numpy::array_state(&self.objects, state)?))),
            Object::Type(data_type) => {
                Object::Type(Box::new(numpy::type_state(&self.objects, data_type, state)?))
            }
            other => {
                return Err(CodecError::corrupt(format!(
                    "the pickle sets the state of {}, which is refused",
                    other.kind()
                )));
            }
        };
        if let Some(object) = self.objects.get_mut(object) {
            *object = changed;
        }
        Ok(())
    }
}

fn pairs(items: &[Id]) -> CodecResult<Vec<(Id, Id)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
        _ => Err(CodecError::corrupt("a dictionary of the pickle has a key without a value")),
    }
}

fn memo_key(line: &str) -> CodecResult<usize> {
    line.parse().map_err(|_| CodecError::corrupt("a key of the memo is not a number"))
}

fn empty() -> CodecError {
    CodecError::corrupt("an opcode of the pickle lacks an object on the stack")
}

fn unknown(opcode: u8) -> CodecError {
    match opcodes::refused(opcode) {
        Some(name) => CodecError::corrupt(format!(
            "opcode {name} of the pickle is refused: this reader only creates lists, dictionaries, text, numbers and \
             arrays of NumPy"
        )),
        None => CodecError::corrupt(format!("the pickle has the unknown opcode {opcode:#04x}")),
    }
}
