// Streams: a thread and a queue each; events; marks in queues.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "device.h"
#include "queue.h"

namespace fake {

// A place in a queue: done once the stream has passed it.
struct Mark {
    std::mutex mutex;
    std::condition_variable happened;
    bool done = false;
    std::chrono::steady_clock::time_point at;

    void finish();
    void wait();
    bool is_done();
};

struct Stream : std::enable_shared_from_this<Stream> {
    Device *device = nullptr;
    unsigned flags = 0;
    int priority = 0;
    bool is_legacy = false;

    std::mutex mutex;
    std::condition_variable wake;
    struct Item {
        Work work;
        bool always = false;  // runs on a lost device too
    };
    std::deque<Item> queue;
    bool busy = false, ending = false;
    bool gone = false;  // its thread has ended: nothing is left to wait for

    std::shared_ptr<Capture> capture;  // guarded by the captures' lock

    CUstream handle() { return reinterpret_cast<CUstream>(this); }
    void push(Work work, bool always);
    bool idle();
};

struct Event {
    Device *device = nullptr;
    unsigned flags = 0;
    std::mutex mutex;
    std::shared_ptr<Mark> mark;                // of the latest record
    std::weak_ptr<Capture> capture;            // where that was within a capture
    std::map<Stream *, size_t> clock;          // what it stands for there
    bool captured = false;
};

std::shared_ptr<Stream> make_stream(Device &device, unsigned flags, int priority);
// The stream of a handle; null where there is none. Handles of default streams too.
std::shared_ptr<Stream> find_stream(CUstream stream);
bool end_stream(CUstream stream);
void end_streams(Device &device);

std::shared_ptr<Event> find_event(CUevent event);
CUevent make_event(Device &device, unsigned flags);
bool end_event(CUevent event);

// A mark behind everything that is queued.
std::shared_ptr<Mark> mark(Stream &stream);
// The stream waits for it.
void wait_for(Stream &stream, std::shared_ptr<Mark> mark);
// Puts work where it belongs: the queue or the capture.
CUresult submit(Stream &stream, Work work);
// Puts work into the queue.
void push_ordered(Stream &stream, Work work);
// Waits for the stream, or for every stream of the device.
CUresult synchronise_stream(Stream &stream);
CUresult synchronise_device(Device &device);
// Does one piece of work now, on this thread.
void perform(Device &device, const Work &work);

}  // namespace fake
