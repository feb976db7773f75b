"""The walk over the blocks of a launch, as LLVM IR that is the same for every plan."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DRIVER", "MAX_AXES", "MAX_OPERANDS", "Frame"]

MAX_OPERANDS = 128
MAX_AXES = 64
"""Room in `DRIVER`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a kernel finds what in the frame, in words.

    ``TABLE``: address of a table with `fetestexcept`, `feclearexcept`, then function
    and data of every loop.  ``WATCH``: the mask for them, 0 to look for nothing.
    ``KERNEL``: address of the block function.  ``OPERANDS``: their number.  ``NDIM``:
    number of outer axes; ``LENGTHS`` and ``STEPS``: addresses of their lengths and,
    axis by axis, of all operands' strides.  ``ALONG``: blocks in a row, and ``EDGES``:
    address of where they begin, and the last one ends.  ``SPREAD``: bytes that the last
    operand moves on from one block to the next, for one result a block.  ``FLAGS``:
    what `dcarray_single` saw.  ``RUN``: elements that a fold makes one of, 0 for the
    whole block; ``ADVANCE``: bytes between the results of neighbouring runs.  Then, for
    each operand, inner strides and addresses; then two words for each scalar.  Where a
    block is some short rows (`Plan.rowwise`), the rows are the inner axis, ``RUN`` is
    their length, and the strides within a row come last.
    """

    operands: int
    scalars: int

    TABLE = 0
    WATCH = 1
    KERNEL = 2
    OPERANDS = 3
    NDIM = 4
    LENGTHS = 5
    STEPS = 6
    ALONG = 7
    EDGES = 8
    FLAGS = 9
    SPREAD = 10
    RUN = 11
    ADVANCE = 12
    STRIDES = 13

    @property
    def pointers(self) -> int:
        return self.STRIDES + self.operands

    @property
    def values(self) -> int:
        return self.pointers + self.operands

    @property
    def columns(self) -> int:
        return self.values + 2 * self.scalars

    @property
    def size(self) -> int:
        return self.columns + self.operands


DRIVER = """
define i64 @dcarray_drive(ptr %frame, i64 %start, i64 %stop, ptr %scratch) {
entry:
  %current = alloca [128 x ptr]
  %pointers = alloca [128 x ptr]
  %place = alloca [64 x i64]
  %watch.at = getelementptr i64, ptr %frame, i64 1
  %watch = load i32, ptr %watch.at
  %kernel.at = getelementptr i64, ptr %frame, i64 2
  %kernel = load ptr, ptr %kernel.at
  %count.at = getelementptr i64, ptr %frame, i64 3
  %count = load i64, ptr %count.at
  %ndim.at = getelementptr i64, ptr %frame, i64 4
  %ndim = load i64, ptr %ndim.at
  %lengths.at = getelementptr i64, ptr %frame, i64 5
  %lengths = load ptr, ptr %lengths.at
  %strides.at = getelementptr i64, ptr %frame, i64 6
  %strides = load ptr, ptr %strides.at
  %along.at = getelementptr i64, ptr %frame, i64 7
  %along = load i64, ptr %along.at
  %edges.at = getelementptr i64, ptr %frame, i64 8
  %edges = load ptr, ptr %edges.at
  %spread.at = getelementptr i64, ptr %frame, i64 10
  %spread = load i64, ptr %spread.at
  %steps = getelementptr i64, ptr %frame, i64 13
  %last = sub i64 %count, 1
  %last.at = getelementptr ptr, ptr %pointers, i64 %last
  %bases = getelementptr i64, ptr %steps, i64 %count
  %watching = icmp ne i32 %watch, 0
  br i1 %watching, label %clear, label %seek
clear:
  %table = load ptr, ptr %frame
  %clear.at = getelementptr ptr, ptr %table, i64 1
  %clear.function = load ptr, ptr %clear.at
  %cleared = call i32 %clear.function(i32 %watch)
  br label %seek
seek:
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %current, ptr %bases, i64 %bytes, i1 false)
  %row = udiv i64 %start, %along
  %first = urem i64 %start, %along
  br label %axis
axis:
  %axis.up = phi i64 [ %ndim, %seek ], [ %axis.down, %axis.body ]
  %rest = phi i64 [ %row, %seek ], [ %rest.next, %axis.body ]
  %axis.more = icmp sgt i64 %axis.up, 0
  br i1 %axis.more, label %axis.body, label %tile
axis.body:
  %axis.down = sub i64 %axis.up, 1
  %length.at = getelementptr i64, ptr %lengths, i64 %axis.down
  %length = load i64, ptr %length.at
  %index = urem i64 %rest, %length
  %rest.next = udiv i64 %rest, %length
  %place.at = getelementptr i64, ptr %place, i64 %axis.down
  store i64 %index, ptr %place.at
  call void @move(ptr %current, ptr %strides, i64 %count, i64 %axis.down, i64 %index)
  br label %axis
tile:
  %number = phi i64 [ %start, %axis ], [ %number.next, %next ]
  %j = phi i64 [ %first, %axis ], [ %j.new, %next ]
  %inside = icmp slt i64 %number, %stop
  br i1 %inside, label %begin, label %done
begin:
  %column.at = getelementptr i64, ptr %edges, i64 %j
  %column = load i64, ptr %column.at
  %j.next = add i64 %j, 1
  %end.at = getelementptr i64, ptr %edges, i64 %j.next
  %end = load i64, ptr %end.at
  %n = sub i64 %end, %column
  br label %point
point:
  %k = phi i64 [ 0, %begin ], [ %k.next, %point ]
  %from.at = getelementptr ptr, ptr %current, i64 %k
  %from = load ptr, ptr %from.at
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at
  %skip = mul i64 %step, %column
  %to = getelementptr i8, ptr %from, i64 %skip
  %to.at = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %to, ptr %to.at
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %count
  br i1 %k.more, label %point, label %run
run:
  %apart = mul i64 %number, %spread
  %last.pointer = load ptr, ptr %last.at
  %last.moved = getelementptr i8, ptr %last.pointer, i64 %apart
  store ptr %last.moved, ptr %last.at
  %flags = call i32 %kernel(ptr %frame, ptr %pointers, i64 %n, ptr %scratch)
  %good = icmp eq i32 %flags, 0
  br i1 %good, label %advance, label %report
report:
  ret i64 %number
advance:
  %number.next = add i64 %number, 1
  %row.ends = icmp sge i64 %j.next, %along
  br i1 %row.ends, label %carry, label %next
carry:
  %carry.up = phi i64 [ %ndim, %advance ], [ %carry.axis, %carry.again ]
  %carry.more = icmp sgt i64 %carry.up, 0
  br i1 %carry.more, label %carry.body, label %next
carry.body:
  %carry.axis = sub i64 %carry.up, 1
  call void @move(ptr %current, ptr %strides, i64 %count, i64 %carry.axis, i64 1)
  %carry.at = getelementptr i64, ptr %place, i64 %carry.axis
  %carry.old = load i64, ptr %carry.at
  %carry.new = add i64 %carry.old, 1
  %carry.length.at = getelementptr i64, ptr %lengths, i64 %carry.axis
  %carry.length = load i64, ptr %carry.length.at
  %carry.full = icmp sge i64 %carry.new, %carry.length
  %carry.store = select i1 %carry.full, i64 0, i64 %carry.new
  store i64 %carry.store, ptr %carry.at
  br i1 %carry.full, label %carry.again, label %next
carry.again:
  %carry.back = sub i64 0, %carry.length
  call void @move(ptr %current, ptr %strides, i64 %count, i64 %carry.axis,
                  i64 %carry.back)
  br label %carry
next:
  %j.new = phi i64 [ %j.next, %advance ], [ 0, %carry ], [ 0, %carry.body ]
  br label %tile
done:
  ret i64 %stop
}

define internal void @move(ptr %current, ptr %strides, i64 %count, i64 %axis,
                           i64 %distance) {
entry:
  %row = mul i64 %axis, %count
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %index = add i64 %row, %k
  %stride.at = getelementptr i64, ptr %strides, i64 %index
  %stride = load i64, ptr %stride.at
  %bytes = mul i64 %stride, %distance
  %at = getelementptr ptr, ptr %current, i64 %k
  %old = load ptr, ptr %at
  %new = getelementptr i8, ptr %old, i64 %bytes
  store ptr %new, ptr %at
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}

define i32 @dcarray_single(ptr %frame, ptr %pointers, i64 %n, ptr %scratch) {
entry:
  %length = alloca i64
  store i64 %n, ptr %length
  %table = load ptr, ptr %frame
  %function.at = getelementptr ptr, ptr %table, i64 2
  %function = load ptr, ptr %function.at
  %data.at = getelementptr ptr, ptr %table, i64 3
  %data = load ptr, ptr %data.at
  %steps = getelementptr i64, ptr %frame, i64 13
  call void %function(ptr %pointers, ptr %length, ptr %steps, ptr %data)
  %flags.at = getelementptr i64, ptr %frame, i64 9
  %seek.at = getelementptr i64, ptr %frame, i64 1
  %seek = load i32, ptr %seek.at
  %watching = icmp ne i32 %seek, 0
  br i1 %watching, label %look, label %done
look:
  %test = load ptr, ptr %table
  %flags = call i32 %test(i32 %seek)
  %wide = sext i32 %flags to i64
  %before = atomicrmw or ptr %flags.at, i64 %wide seq_cst
  br label %done
done:
  ret i32 0
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
"""Walks over the blocks of a launch; the same for every plan, so it is compiled once.

``i64 dcarray_drive(ptr frame, i64 start, i64 stop, ptr scratch)`` runs blocks ``start``
to ``stop`` (blocks are numbered row by row) and returns ``stop``, or the number of the
first block that raised a watched flag.  That block is not stored where outputs share
memory with inputs.

``dcarray_single`` is a block function that calls the first loop of the table on the
operands as they are.  It goes on after a flag, and leaves all of them in the frame.
"""
