#include "stream.h"

#include <random>
#include <set>

#include "capture.h"
#include "report.h"
#include "settings.h"

namespace fake {
namespace {

template <class T> struct Registry {
    std::mutex mutex;
    std::map<void *, std::shared_ptr<T>> all;

    void add(std::shared_ptr<T> one) {
        std::lock_guard<std::mutex> lock(mutex);
        all[one.get()] = one;
    }
    std::shared_ptr<T> find(void *handle) {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = all.find(handle);
        return found == all.end() ? nullptr : found->second;
    }
    std::shared_ptr<T> take(void *handle) {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = all.find(handle);
        if (found == all.end()) return nullptr;
        auto taken = found->second;
        all.erase(found);
        return taken;
    }
};

Registry<Stream> &stream_registry() {
    static auto *registry = new Registry<Stream>;
    return *registry;
}

Registry<Event> &event_registry() {
    static auto *registry = new Registry<Event>;
    return *registry;
}

void dawdle() {
    unsigned most = settings().jitter_us;
    if (!most) return;
    thread_local std::minstd_rand random{std::random_device{}()};
    std::this_thread::sleep_for(std::chrono::microseconds(random() % most));
}

void run_item(Stream &stream, Stream::Item &item) {
    if (item.always) {
        item.work.run();
    } else {
        dawdle();
        perform(*stream.device, item.work);
    }
}

void serve(std::shared_ptr<Stream> stream) {
    std::unique_lock<std::mutex> lock(stream->mutex);
    for (;;) {
        stream->wake.wait(lock, [&] { return stream->ending || !stream->queue.empty(); });
        if (stream->queue.empty()) {
            stream->gone = true;
            return;
        }
        {
            Stream::Item item = std::move(stream->queue.front());
            stream->queue.pop_front();
            stream->busy = true;
            lock.unlock();
            run_item(*stream, item);
        }
        lock.lock();
        stream->busy = false;
    }
}

bool blocks(const Stream &stream) { return !(stream.flags & CU_STREAM_NON_BLOCKING); }

std::vector<std::shared_ptr<Stream>> streams_of(Device &device) {
    std::lock_guard<std::mutex> lock(device.streams_mutex);
    return {device.streams.begin(), device.streams.end()};
}

std::shared_ptr<Stream> legacy_stream(Device &device) {
    {
        std::lock_guard<std::mutex> lock(device.streams_mutex);
        if (device.legacy) return device.legacy;
    }
    auto made = make_stream(device, CU_STREAM_DEFAULT, 0);
    std::lock_guard<std::mutex> lock(device.streams_mutex);
    if (!device.legacy) {
        made->is_legacy = true;
        device.legacy = made;
    }
    return device.legacy;
}

// The stream of this thread for the "per thread" handle.
std::shared_ptr<Stream> thread_stream(Device &device) {
    thread_local std::map<Device *, CUstream> own;
    auto found = find_stream(own[&device]);
    if (own[&device] && found) return found;
    auto made = make_stream(device, CU_STREAM_DEFAULT, 0);
    own[&device] = made->handle();
    return made;
}

// The legacy default stream waits for blocking streams, and they for it.
void order_with_legacy(Stream &stream) {
    if (!blocks(stream)) return;
    if (stream.is_legacy) {
        for (auto &other : streams_of(*stream.device)) {
            if (other.get() != &stream && blocks(*other) && !other->idle()) wait_for(stream, mark(*other));
        }
        return;
    }
    std::shared_ptr<Stream> legacy;
    {
        std::lock_guard<std::mutex> lock(stream.device->streams_mutex);
        legacy = stream.device->legacy;
    }
    if (legacy && !legacy->idle()) wait_for(stream, mark(*legacy));
}

void finish_stream(Device &device, const std::shared_ptr<Stream> &stream) {
    {
        std::lock_guard<std::mutex> lock(stream->mutex);
        stream->ending = true;
        stream->wake.notify_all();
    }
    std::lock_guard<std::mutex> lock(device.streams_mutex);
    device.streams.erase(stream);
    if (device.legacy == stream) device.legacy = nullptr;
}

}  // namespace

void Mark::finish() {
    std::lock_guard<std::mutex> lock(mutex);
    at = std::chrono::steady_clock::now();
    done = true;
    happened.notify_all();
}

void Mark::wait() {
    std::unique_lock<std::mutex> lock(mutex);
    happened.wait(lock, [&] { return done; });
}

bool Mark::is_done() {
    std::lock_guard<std::mutex> lock(mutex);
    return done;
}

// Somebody may still ask for a mark of a stream that another thread has just destroyed.
void Stream::push(Work work, bool always) {
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (!gone) {
            queue.push_back({std::move(work), always});
            wake.notify_all();
            return;
        }
    }
    if (always) work.run();
}

bool Stream::idle() {
    std::lock_guard<std::mutex> lock(mutex);
    return queue.empty() && !busy;
}

std::shared_ptr<Stream> make_stream(Device &device, unsigned flags, int priority) {
    auto stream = std::make_shared<Stream>();
    stream->device = &device;
    stream->flags = flags;
    stream->priority = priority;
    stream_registry().add(stream);
    {
        std::lock_guard<std::mutex> lock(device.streams_mutex);
        device.streams.insert(stream);
    }
    std::thread(serve, stream).detach();
    return stream;
}

std::shared_ptr<Stream> find_stream(CUstream stream) {
    if (stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) {
        return stream_registry().find(stream);
    }
    Device *device = current_device();
    if (!device) return nullptr;
    return stream == CU_STREAM_PER_THREAD ? thread_stream(*device) : legacy_stream(*device);
}

bool end_stream(CUstream handle) {
    auto stream = stream_registry().take(handle);
    if (!stream) return false;
    finish_stream(*stream->device, stream);
    return true;
}

void end_streams(Device &device) {
    for (auto &stream : streams_of(device)) {
        auto last = mark(*stream);
        last->wait();
        stream_registry().take(stream.get());
        finish_stream(device, stream);
    }
}

CUevent make_event(Device &device, unsigned flags) {
    auto event = std::make_shared<Event>();
    event->device = &device;
    event->flags = flags;
    event_registry().add(event);
    return reinterpret_cast<CUevent>(event.get());
}

std::shared_ptr<Event> find_event(CUevent event) { return event_registry().find(event); }
bool end_event(CUevent event) { return event_registry().take(event) != nullptr; }

std::shared_ptr<Mark> mark(Stream &stream) {
    auto made = std::make_shared<Mark>();
    Work work;
    work.name = "event";
    work.run = [made] { made->finish(); };
    stream.push(std::move(work), true);
    return made;
}

void wait_for(Stream &stream, std::shared_ptr<Mark> awaited) {
    Work work;
    work.name = "wait";
    work.run = [awaited] { awaited->wait(); };
    stream.push(std::move(work), true);
}

void push_ordered(Stream &stream, Work work) {
    order_with_legacy(stream);
    stream.push(std::move(work), false);
}

CUresult submit(Stream &stream, Work work) {
    if (CUresult refused = refusal(*stream.device)) return refused;
    bool taken = false;
    CUresult result = capture_work(stream, work, taken);
    if (taken || result) return result;
    push_ordered(stream, std::move(work));
    return CUDA_SUCCESS;
}

CUresult synchronise_stream(Stream &stream) {
    if (CUresult refused = refuse_while_captured(stream)) return refused;
    if (stream.is_legacy) order_with_legacy(stream);
    mark(stream)->wait();
    trim_pools(*stream.device);
    return refusal(*stream.device);
}

CUresult synchronise_device(Device &device) {
    std::vector<std::shared_ptr<Mark>> marks;
    for (auto &stream : streams_of(device)) marks.push_back(mark(*stream));
    for (auto &one : marks) one->wait();
    trim_pools(device);
    return refusal(device);
}

void perform(Device &device, const Work &work) {
    if (refusal(device)) return;
    if (work.kind != Kind::Other && fails_now(work.kind == Kind::Copy ? "copy" : "launch")) {
        fail(device, CUDA_ERROR_ILLEGAL_ADDRESS, "FAKE_CUDA_FAIL");
        return;
    }
    for (const Range &range : work.touches) {
        std::string wrong = complaint(range);
        if (!wrong.empty()) return misuse(device, std::string(work.name) + ": " + wrong);
    }
    Running running(work.name);
    work.run();
}

CUresult enqueue(CUstream handle, Work work) {
    auto stream = find_stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    trace("queue %p %s", (void *)stream.get(), work.name);
    return submit(*stream, std::move(work));
}

CUresult synchronise(CUstream handle) {
    auto stream = find_stream(handle);
    return stream ? synchronise_stream(*stream) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace fake
