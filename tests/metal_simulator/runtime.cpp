// The simulated GPU: threadgroups over the host's threads, and the threads of a
// threadgroup as fibers of one host thread, switched at barriers only.  So a run is
// deterministic within a threadgroup, and a barrier that not all threads reach is seen.

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#include "runtime.h"

namespace {

constexpr unsigned WIDTH = 32;  // threads of a simdgroup
constexpr size_t STACK = 128 << 10;
constexpr size_t LARGEST = 16;  // bytes of a value that simdgroup functions exchange
constexpr uint64_t SMALL = 4096;  // threads below which no host thread is worth while

enum class Waits { no, group, simd, ended };

struct Fiber {
    msl_item item;
    Waits waits = Waits::no;
    bool started = false;
    unsigned site = 0;  // the line of the call that it waits in
    jmp_buf place;
    ucontext_t first;
    unsigned char given[LARGEST];
};

struct Simd {
    unsigned char shown[WIDTH][LARGEST];
    uint64_t active = 0;
};

struct Launch {
    msl_entry entry;
    void* const* buffers;
    uint32_t threads[3];  // of the grid
    uint32_t size[3];     // of a threadgroup
    uint32_t groups[3];
    bool has_barriers;
    std::atomic<uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex lock;
    std::string error;

    void fail(const std::string& message) {
        std::lock_guard<std::mutex> guard(lock);
        if (!failed.exchange(true)) error = message;
    }
};

// What one host thread needs to run one threadgroup after the other.
struct Processor {
    Launch* launch = nullptr;
    std::vector<Fiber> fibers;
    std::vector<Simd> simds;
    unsigned char* stacks = nullptr;
    size_t stack_count = 0;
    size_t count = 0;  // threads of this threadgroup
    Fiber* current = nullptr;
    jmp_buf home;

    ~Processor() {
        if (stacks) munmap(stacks, stack_count * STACK);
    }

    void reserve(size_t count) {
        if (count <= stack_count) return;
        if (stacks) munmap(stacks, stack_count * STACK);
        fibers.clear();  // those that were started had their stacks there
        void* found = mmap(nullptr, count * STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) {
            stacks = nullptr;
            stack_count = 0;
            return;
        }
        stacks = static_cast<unsigned char*>(found);
        stack_count = count;
    }
};

thread_local Processor* processor = nullptr;

void wait(Waits reason) {
    Processor* self = processor;
    Fiber* fiber = self->current;
    fiber->waits = reason;
    if (!_setjmp(fiber->place)) _longjmp(self->home, 1);
}

// A fiber runs one thread of the grid after the other.
void body() {
    for (;;) {
        processor->launch->entry(&processor->current->item, processor->launch->buffers);
        wait(Waits::ended);
    }
}

void resume(Processor& self, size_t number) {
    Fiber& fiber = self.fibers[number];
    self.current = &fiber;
    if (_setjmp(self.home)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    getcontext(&fiber.first);
    fiber.first.uc_stack.ss_sp = self.stacks + number * STACK;
    fiber.first.uc_stack.ss_size = STACK;
    fiber.first.uc_link = nullptr;
    makecontext(&fiber.first, body, 0);
    setcontext(&fiber.first);
}

bool release_group(Processor& self) {
    for (size_t k = 0; k < self.count; ++k)
        if (self.fibers[k].waits != Waits::group ||
            self.fibers[k].site != self.fibers[0].site)
            return false;
    for (size_t k = 0; k < self.count; ++k) self.fibers[k].waits = Waits::no;
    return true;
}

// Nothing else can go on.  Threads that went different ways wait in different lines, and
// those in the first of them are the active ones: they run until they join the others.
bool release_simds(Processor& self) {
    bool any = false;
    for (size_t number = 0; number < self.simds.size(); ++number) {
        size_t first = number * WIDTH;
        size_t last = std::min(first + WIDTH, self.count);
        unsigned site = ~0u;
        for (size_t k = first; k < last; ++k)
            if (self.fibers[k].waits == Waits::simd)
                site = std::min(site, self.fibers[k].site);
        if (site == ~0u) continue;
        Simd& simd = self.simds[number];
        simd.active = 0;
        for (size_t k = first; k < last; ++k) {
            Fiber& fiber = self.fibers[k];
            if (fiber.waits != Waits::simd || fiber.site != site) continue;
            std::memcpy(simd.shown[k - first], fiber.given, LARGEST);
            simd.active |= uint64_t(1) << (k - first);
            fiber.waits = Waits::no;
        }
        any = true;
    }
    return any;
}

void run_fibers(Processor& self) {
    for (;;) {
        size_t ended = 0;
        for (size_t number = 0; number < self.count; ++number) {
            if (self.fibers[number].waits == Waits::no) resume(self, number);
            ended += self.fibers[number].waits == Waits::ended;
        }
        if (ended == self.count) return;
        if (!release_group(self) && !release_simds(self)) {
            for (Fiber& fiber : self.fibers) fiber.started = false;
            self.launch->fail("only some of the threads of a threadgroup reach a barrier");
            return;
        }
    }
}

void run_group(Processor& self, uint64_t number) {
    Launch& launch = *self.launch;
    msl_item item{};
    uint64_t left = number;
    uint32_t size[3];
    for (int d = 0; d < 3; ++d) {
        item.group[d] = left % launch.groups[d];
        left /= launch.groups[d];
        uint32_t start = item.group[d] * launch.size[d];
        size[d] = std::min(launch.size[d], launch.threads[d] - start);
        item.group_size[d] = size[d];
        item.groups[d] = launch.groups[d];
        item.grid_size[d] = launch.threads[d];
    }
    uint32_t count = size[0] * size[1] * size[2];
    item.simds = (count + WIDTH - 1) / WIDTH;
    item.width = WIDTH;
    if (launch.has_barriers) {
        self.reserve(count);
        self.fibers.resize(std::max<size_t>(self.fibers.size(), count));
        self.count = count;
        self.simds.resize(item.simds);
        if (!self.stacks) return launch.fail("no memory for the stacks of the threads");
    }
    uint32_t index = 0;
    for (uint32_t z = 0; z < size[2]; ++z)
        for (uint32_t y = 0; y < size[1]; ++y)
            for (uint32_t x = 0; x < size[0]; ++x, ++index) {
                uint32_t local[3] = {x, y, z};
                for (int d = 0; d < 3; ++d) {
                    item.local[d] = local[d];
                    item.position[d] = item.group[d] * launch.size[d] + local[d];
                }
                item.index = index;
                item.lane = index % WIDTH;
                item.simd = index / WIDTH;
                if (launch.has_barriers) {
                    Fiber& fiber = self.fibers[index];
                    fiber.item = item;
                    fiber.waits = Waits::no;
                } else {
                    launch.entry(&item, launch.buffers);
                }
            }
    if (launch.has_barriers) run_fibers(self);
}

void work(Launch& launch) {
    static thread_local Processor self;
    self.launch = &launch;
    self.current = nullptr;
    processor = &self;
    uint64_t total = uint64_t(launch.groups[0]) * launch.groups[1] * launch.groups[2];
    while (!launch.failed) {
        uint64_t number = launch.next++;
        if (number >= total) break;
        run_group(self, number);
    }
    processor = nullptr;
}

}  // namespace

extern "C" void msl_barrier(unsigned site) {
    processor->current->site = site;
    wait(Waits::group);
}

extern "C" unsigned long msl_exchange(const void* value, unsigned long size, void* shown,
                                      unsigned site) {
    Fiber* fiber = processor->current;
    fiber->site = site;
    std::memcpy(fiber->given, value, size);
    wait(Waits::simd);
    Simd& simd = processor->simds[fiber->item.simd];
    for (unsigned lane = 0; lane < WIDTH; ++lane)
        std::memcpy(static_cast<unsigned char*>(shown) + lane * size, simd.shown[lane], size);
    return simd.active;
}

// Threadgroup memory holds nothing of use before it is written.
extern "C" void msl_poison(void* memory, unsigned long size) {
    Fiber* fiber = processor->current;
    if (fiber && !fiber->item.index) std::memset(memory, 0xCB, size);
}

extern "C" unsigned msl_lane() { return processor->current->item.lane; }

// Runs a grid; 0, or 1 and a message.
extern "C" int msl_run(msl_entry entry, void* const* buffers, const uint32_t* threads,
                       const uint32_t* size, int has_barriers, char* error, size_t room) {
    Launch launch;
    launch.entry = entry;
    launch.buffers = buffers;
    launch.has_barriers = has_barriers;
    uint64_t count = 1;
    for (int d = 0; d < 3; ++d) {
        launch.threads[d] = threads[d];
        launch.size[d] = size[d];
        launch.groups[d] = (threads[d] + size[d] - 1) / size[d];
        count *= threads[d];
    }
    std::vector<std::thread> others;
    if (count >= SMALL)
        for (unsigned k = 1; k < std::min(8u, std::thread::hardware_concurrency()); ++k)
            others.emplace_back(work, std::ref(launch));
    work(launch);
    for (std::thread& other : others) other.join();
    if (!launch.failed) return 0;
    strncpy(error, launch.error.c_str(), room - 1);
    error[room - 1] = 0;
    return 1;
}
