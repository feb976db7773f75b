"""How threads share the slices of a launch without Python's lock, as LLVM IR.

A *control* block describes a launch: address of the frame, number of the next slice,
number of slices, address of their edges (blocks), address of what each of them reached.
A *mailbox* belongs to one helper thread: state (0 empty, 1 posted, 2 taken, 3 done),
address of the control block, address of scratch memory, whether the helper sleeps.

The launching thread posts the control block to mailboxes, wakes the helpers that sleep,
and takes slices like everybody else.  When none is left it withdraws what nobody took
and waits for those who did: after that no helper knows the launch any more.

`dcarray_lead` returns how often it looked in vain whether a helper is done; -1 if
slices are left, and -2 if a helper is at work for long.
"""

from __future__ import annotations

import platform

__all__ = ["MAILBOX_WORDS", "TEAM"]

MAILBOX_WORDS = 16
"""Words from one mailbox to the next: no two share a cache line."""

_ON_X86 = platform.machine().lower() in ("x86_64", "amd64")
_PAUSE = "call void @llvm.x86.sse2.pause()" if _ON_X86 else "fence seq_cst"
_DECLARE = "declare void @llvm.x86.sse2.pause()" if _ON_X86 else ""

# Every so often a waiting thread lets others have its core: the one that it waits for
# may be among them.
TEAM = f"""
define internal void @rest(i64 %spin, ptr %yield) {{
entry:
  {_PAUSE}
  %phase = and i64 %spin, 127
  %due = icmp eq i64 %phase, 127
  %known = icmp ne ptr %yield, null
  %now = and i1 %due, %known
  br i1 %now, label %give, label %done
give:
  %ignored = call i32 %yield()
  br label %done
done:
  ret void
}}

define i64 @dcarray_take(ptr %control, ptr %scratch, i64 %limit) {{
entry:
  %frame = load ptr, ptr %control
  %next.at = getelementptr i64, ptr %control, i64 1
  %count.at = getelementptr i64, ptr %control, i64 2
  %count = load i64, ptr %count.at
  %edges.at = getelementptr i64, ptr %control, i64 3
  %edges = load ptr, ptr %edges.at
  %reached.at = getelementptr i64, ptr %control, i64 4
  %reached = load ptr, ptr %reached.at
  br label %loop
loop:
  %taken = phi i64 [ 0, %entry ], [ %taken.next, %work ]
  %tired = icmp sge i64 %taken, %limit
  br i1 %tired, label %more, label %try
try:
  %slice = atomicrmw add ptr %next.at, i64 1 seq_cst
  %left = icmp slt i64 %slice, %count
  br i1 %left, label %work, label %none
work:
  %start.at = getelementptr i64, ptr %edges, i64 %slice
  %start = load i64, ptr %start.at
  %slice.up = add i64 %slice, 1
  %stop.at = getelementptr i64, ptr %edges, i64 %slice.up
  %stop = load i64, ptr %stop.at
  %end = call i64 @dcarray_drive(ptr %frame, i64 %start, i64 %stop, ptr %scratch)
  %end.at = getelementptr i64, ptr %reached, i64 %slice
  store i64 %end, ptr %end.at
  %taken.next = add i64 %taken, 1
  br label %loop
more:
  ret i64 1
none:
  ret i64 0
}}

define i64 @dcarray_post(ptr %control, ptr %mailboxes, i64 %helpers, ptr %scratch,
                         i64 %size) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %asleep = phi i64 [ 0, %entry ], [ %asleep.next, %loop ]
  %word = mul i64 %k, {MAILBOX_WORDS}
  %box = getelementptr i64, ptr %mailboxes, i64 %word
  %control.at = getelementptr i64, ptr %box, i64 1
  store ptr %control, ptr %control.at
  %k.next = add i64 %k, 1
  %skip = mul i64 %k.next, %size
  %own = getelementptr i8, ptr %scratch, i64 %skip
  %scratch.at = getelementptr i64, ptr %box, i64 2
  store ptr %own, ptr %scratch.at
  %before = atomicrmw xchg ptr %box, i64 1 seq_cst
  %sleep.at = getelementptr i64, ptr %box, i64 3
  %sleeps = load atomic i64, ptr %sleep.at seq_cst, align 8
  %bit = shl i64 %sleeps, %k
  %asleep.next = or i64 %asleep, %bit
  %again = icmp slt i64 %k.next, %helpers
  br i1 %again, label %loop, label %end
end:
  ret i64 %asleep.next
}}

define i64 @dcarray_lead(ptr %control, ptr %mailboxes, i64 %helpers, ptr %scratch,
                         i64 %limit, i64 %spins, ptr %yield) {{
entry:
  %more = call i64 @dcarray_take(ptr %control, ptr %scratch, i64 %limit)
  %unfinished = icmp ne i64 %more, 0
  br i1 %unfinished, label %later, label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %gone ]
  %waited = phi i64 [ 0, %entry ], [ %waited.next, %gone ]
  %again = icmp slt i64 %k, %helpers
  br i1 %again, label %withdraw, label %end
withdraw:
  %word = mul i64 %k, {MAILBOX_WORDS}
  %box = getelementptr i64, ptr %mailboxes, i64 %word
  %pair = cmpxchg ptr %box, i64 1, i64 0 seq_cst seq_cst
  br label %wait
wait:
  %spin = phi i64 [ 0, %withdraw ], [ %spin.next, %pause ]
  %state = load atomic i64, ptr %box seq_cst, align 8
  %busy = icmp eq i64 %state, 2
  br i1 %busy, label %pause, label %gone
pause:
  call void @rest(i64 %spin, ptr %yield)
  %spin.next = add i64 %spin, 1
  %long = icmp sge i64 %spin.next, %spins
  br i1 %long, label %slow, label %wait
gone:
  %waited.next = add i64 %waited, %spin
  store atomic i64 0, ptr %box seq_cst, align 8
  %k.next = add i64 %k, 1
  br label %loop
later:
  ret i64 -1
slow:
  ret i64 -2
end:
  ret i64 %waited
}}

define i64 @dcarray_help(ptr %box, i64 %spins, ptr %yield) {{
entry:
  %control.at = getelementptr i64, ptr %box, i64 1
  %scratch.at = getelementptr i64, ptr %box, i64 2
  %sleep.at = getelementptr i64, ptr %box, i64 3
  store atomic i64 0, ptr %sleep.at seq_cst, align 8
  br label %look
look:
  %spin = phi i64 [ 0, %entry ], [ 0, %work ], [ %spin.next, %pause ], [ 0, %awake ]
  %state = load atomic i64, ptr %box seq_cst, align 8
  %posted = icmp eq i64 %state, 1
  br i1 %posted, label %try, label %pause
try:
  %pair = cmpxchg ptr %box, i64 1, i64 2 seq_cst seq_cst
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %work, label %pause
work:
  %control = load ptr, ptr %control.at
  %scratch = load ptr, ptr %scratch.at
  %rest = call i64 @dcarray_take(ptr %control, ptr %scratch, i64 9223372036854775807)
  store atomic i64 3, ptr %box seq_cst, align 8
  br label %look
pause:
  call void @rest(i64 %spin, ptr %yield)
  %spin.next = add i64 %spin, 1
  %long = icmp sge i64 %spin.next, %spins
  br i1 %long, label %sleep, label %look
sleep:
  store atomic i64 1, ptr %sleep.at seq_cst, align 8
  %last = load atomic i64, ptr %box seq_cst, align 8
  %came = icmp eq i64 %last, 1
  br i1 %came, label %awake, label %end
awake:
  store atomic i64 0, ptr %sleep.at seq_cst, align 8
  br label %look
end:
  ret i64 0
}}

{_DECLARE}
"""
