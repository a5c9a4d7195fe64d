// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window.hpp - windows: messages between processes of a job by FIFOs that a process shares with
 * the adapter (sources.md#windows-window).
 */
#ifndef PAVO_WINDOW_HPP
#define PAVO_WINDOW_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <pavo/address.hpp>
#include <pavo/frame.hpp>
#include <pavo/job.hpp>

#pragma GCC visibility push(default)

namespace pavo {

class SharedWindow;

struct WindowOptions {
	/** Number of this machine in the job. */
	uint16_t node = 0;
	/** Frames of the FIFOs: powers of two, 16 to 32768. */
	uint32_t send_frames = 64;
	uint32_t recv_frames = 256;
	/** The window may send to machines with numbers below this. */
	uint32_t nodes = 64;
	/** Entry of the adapter's GID table, the source address of its packets. */
	uint16_t gid_index = 0;
	/**
	 * eventfds for recv_threshold() and send_threshold(), and both for a recovery and a
	 * violation; -1: none. See also handler.hpp.
	 */
	int recv_event = -1;
	int send_event = -1;
	/** Flag of the local mapping table (sources.md#windows-lmt): may send to multicast groups. */
	bool broadcast = false;
};

struct RouteOptions {
	/** Number of UDP source ports, each of which is a route: 1 to 16; 0: 4. */
	uint16_t ports = 0;
	/** Entry of the adapter's GID table to send from; none: the window's. */
	std::optional<uint16_t> gid_index = {};
};

/** A received frame. Its payload lies in the FIFO and is valid during the call of receive(). */
struct Message {
	WindowAddress from;
	std::span<const std::byte> payload;
	/** A message, or a frame of RDMA: see done(), piece(), request(). */
	FrameType type = FrameType::message;
	/** See message_kind; 0 in frames of RDMA. */
	uint8_t kind = message_kind::plain;

	/** Reads a frame of type rdma_done: the completion of an operation. */
	DoneFrame done() const;
	/** Reads a frame of type rdma_piece: its header, and its data. */
	PieceFrame piece() const;
	std::span<const std::byte> piece_bytes() const;
	/** Reads a frame of type rdma_read: a peer's request for data. */
	RequestFrame request() const;
	/** Reads a frame of type rdma_broadcast: the completion of an operation of a group. */
	GroupDoneFrame group_done() const;
	/** Reads a frame of type counter_value. */
	CounterFrame counter() const;
};

/** A request that is held until a counter reaches its target. */
struct HeldRequest {
	Direction direction;
	WindowAddress to;
	RequestFrame request;
};

/** The outcome of a request that was held, by the number of its frame. */
struct HeldOutcome {
	uint32_t frame;
	FrameState state;
};

/** State of a window. */
enum class WindowState : uint32_t {
	none = 0,
	valid = 1,
	dead = 2, /* a request of its process named memory that is not its job's */
	disabled = 3,
};

/** The local mapping table of a window (sources.md#windows-lmt). */
struct Lmt {
	WindowState state = WindowState::none;
	/** Numbers of the window and of its job. */
	uint32_t window = 0;
	uint32_t job = 0;
	/** Frames that have arrived. The next one takes slot recv_count modulo recv_frames. */
	uint32_t recv_frames = 0;
	uint32_t recv_count = 0;
	/** Free slots of the receive FIFO. */
	uint32_t recv_free = 0;
	/** Frames until the event; 0: no event was requested. */
	uint32_t recv_threshold = 0;
	uint32_t send_frames = 0;
	uint32_t send_count = 0;
	/** Frames ready to be sent, without those of the round under way. */
	uint32_t send_ready = 0;
	uint32_t send_threshold = 0;
	/** Most frames of the window in a round. */
	uint32_t quantum = 0;
	/** Number of contexts that are queued to send, and the first and last of them. */
	uint32_t rcxts = 0;
	uint32_t rcxt_head = 0;
	uint32_t rcxt_tail = 0;
	/** Context of the request that made the window dead. */
	uint32_t fatal_rcxt = 0;
	/** Number of contexts that the window has taken from the adapter's pool. */
	uint32_t rcxts_owned = 0;
	/** Recoveries of the adapter; each ended all contexts. */
	uint32_t recoveries = 0;
	/** 1: WindowOptions::broadcast. */
	uint32_t flags = 0;
	/** Frames until the early event; 0: no event was requested. */
	uint32_t recv_early = 0;
	/** Registered and ready handlers, a bit for each number. */
	uint32_t handlers = 0;
	uint32_t handlers_ready = 0;
	/** 1: an event is kept for the next handler that becomes ready. */
	uint32_t event_kept = 0;
	/** Frames, then packets of RDMA, left of the round under way; 0: no worker serves it. */
	uint32_t quantum_left = 0;
	uint32_t node = 0;
	/** Eventfds that it was opened with: 1: recv_event; 2: send_event; 3: both. */
	uint32_t events = 0;
	/** Key in its packets; 0 for readers without CAP_NET_ADMIN. */
	uint64_t key = 0;
	/** Offsets of the FIFOs in the uverbs file, for mmap(). */
	uint64_t recv_offset = 0;
	uint64_t send_offset = 0;
	/**
	 * Number of packets of peers that named memory of this end which is not the job's. They
	 * were dropped. The first one after a call of lmt() raises an event.
	 */
	uint32_t violations = 0;
	/** Context of this window that the last of them named, and the window that sent it. */
	uint32_t violation_rcxt = 0;
	uint32_t violation_node = 0;
	uint32_t violation_window = 0;
};

/**
 * A window. Messages may be lost and may overtake each other; adapters do not duplicate them. For
 * one thread at a time.
 */
class Window {
public:
	/**
	 * Opens a window. @job: has to live longer. Fails with EINVAL: @options; ENOSPC: the adapter
	 * has max_windows; EDQUOT: this user has its share of them (share_per_user); ENOMEM: more
	 * than RLIMIT_MEMLOCK, or no memory; EMSGSIZE: the interface's MTU is too small; EIO: the
	 * adapter is gone.
	 */
	static Result<Window> open(const Job &job,
				   const WindowOptions &options = {}) noexcept;
	/** Closes the window. Frames that were not sent are lost. */
	~Window();
	/** Must not be moved while an Rcxts, an Rdma or a Striped uses it. */
	Window(Window &&from) noexcept;
	Window &operator=(Window &&from) noexcept;

	/** Returns its number on the adapter, which received messages of it carry. */
	uint32_t number() const;
	/** Returns the address that other windows of the job send to. */
	WindowAddress address() const;
	/**
	 * Returns the source address of its packets, for set_node() of peers: entry
	 * WindowOptions::gid_index of the GID table. Fails as Device::gid().
	 */
	Result<Gid> gid() const noexcept;
	/** Returns the most bytes of a message: up to 2032, by the interface's MTU. */
	size_t max_payload() const;
	/**
	 * Returns the bytes of memory in a packet of RDMA, by the interface's MTU. Packets of
	 * third-party RDMA carry less.
	 */
	uint32_t rdma_payload() const;

	/**
	 * Replace the routes to a node by routes to one of its addresses, or add these. Packets use
	 * the routes round-robin (sources.md#windows-striping). Fails with EINVAL: @node, @gid or
	 * @options; a multicast group without WindowOptions::broadcast, or for a node with another
	 * address; a broadcast address; ENOSPC: there would be more than 64 routes; ENOMEM; EIO: the adapter is gone.
	 * Routes are unchanged on error.
	 */
	Result<void> set_node(uint16_t node, const Gid &gid,
			      const RouteOptions &options = {}) noexcept;
	Result<void> add_route(uint16_t node, const Gid &gid,
			       const RouteOptions &options = {}) noexcept;

	/**
	 * Sends a message. @kind: see message_kind. Fails with ENOBUFS: all frames wait to be sent;
	 * EMSGSIZE: longer than max_payload(); EIO: the adapter is gone.
	 */
	Result<void> send(WindowAddress to, std::span<const std::byte> payload,
			  uint8_t kind = message_kind::plain) noexcept;
	/** Writes a message to the send FIFO, to be sent by start(). Fails as send(). */
	Result<void> prepare(WindowAddress to,
			     std::span<const std::byte> payload,
			     uint8_t kind = message_kind::plain) noexcept;
	/** Sends the prepared frames. Fails with EIO: the adapter is gone. */
	Result<void> start() noexcept;

	/**
	 * Sets @states to the outcome of sent frames, in order; each is reported once.
	 * Return: how many are known, and set.
	 */
	size_t sent(std::span<FrameState> states) noexcept;
	/** Makes sent() leave out the frames that were sent so far. */
	void forget_sent() noexcept
	{
		reported_ = written_;
		sent_ = frames_;
	}
	/**
	 * Returns the number of frames written, modulo 2^32, which is the number of the next one.
	 * sent() reports them in this order.
	 */
	uint32_t frames() const { return frames_; }

	/**
	 * Calls @take(Message) for each frame that has arrived, at most @most times. Does not wait.
	 * The payload is valid during the call only. Return: number of calls.
	 */
	template <class Take>
	size_t receive(Take &&take, size_t most = ~size_t(0))
	{
		Slots slots(*this);
		Message message;

		while (slots.taken() < most && peek(message)) {
			Slots::One one(slots);

			take(static_cast<const Message &>(message));
		}
		return slots.taken();
	}
	/** Returns the frames taken since it was opened, modulo 2^32, as Lmt::recv_count. */
	uint32_t received() const { return consumed_; }

	/**
	 * Requests one event when @n more messages have arrived; 0 and numbers above 2^31 - 1:
	 * cancels it. Messages that arrived before the call do not count: call receive() after it,
	 * then wait. Fails with EIO: the adapter is gone.
	 */
	Result<void> recv_threshold(uint32_t n) noexcept;
	/**
	 * Requests the event just before the @n-th message or completion is visible, so that waking
	 * up overlaps with the copy. A thread that wakes calls receive() for some microseconds until
	 * there is a message. If there is none, the thread had seen it already, and requests the
	 * next event. Replaces recv_threshold().
	 */
	Result<void> recv_threshold_early(uint32_t n) noexcept;
	/** Requests one event when @n more frames have been sent, as recv_threshold(). */
	Result<void> send_threshold(uint32_t n) noexcept;

	/**
	 * Takes RDMA contexts from the adapter's pool: sets @rcxts to their numbers; takes none on
	 * error. Rcxts (rcxt.hpp) gives them back in its destructor.
	 * Fails with ENOSPC: the adapter has not so many left (parameter max_rcxts); EDQUOT: this
	 * user may not have so many (share_per_user); ENOMEM; ESHUTDOWN: the window is disabled;
	 * EIO: the adapter is gone.
	 */
	Result<void> take_rcxts(std::span<uint32_t> rcxts) noexcept;
	/**
	 * Gives contexts back. Operations by them that wait for their end are cancelled, with the
	 * requests that are held for these, or name a context. Fails with EBUSY: one has data to
	 * send: cancel() it first; EINVAL; EIO.
	 */
	Result<void> return_rcxts(std::span<const uint32_t> rcxts) noexcept;
	/**
	 * Aborts operations by contexts: no more of them is sent or placed. Operations of peers
	 * that have not begun here may still begin, and may be tried again: only return_rcxts()
	 * and unmapping the memory are final. Fails with EINVAL: one is not this window's; EIO.
	 */
	Result<void> cancel(std::span<const uint32_t> rcxts) noexcept;

	/**
	 * Writes a request for RDMA to the send FIFO, to be sent by start(). sent() reports the
	 * outcome of its frame. Frames of type rdma_done report the completion, at the ends that
	 * request.flags name. Fails with ENOBUFS: all frames wait to be sent.
	 */
	Result<void> prepare_rdma(Direction direction, WindowAddress to,
				  const RequestFrame &request) noexcept;

	/**
	 * Writes a third-party request to the send FIFO, as prepare_rdma(). A frame of type
	 * rdma_done reports the completion to this window alone.
	 */
	Result<void> prepare_third(WindowAddress source,
				   const ThirdFrame &third) noexcept;

	/**
	 * Writes data of an operation to the send FIFO, to be sent by start(). @fill fills the span
	 * that it gets, of @length bytes, and must not throw. Fails with ENOBUFS: all frames wait to
	 * be sent; EMSGSIZE: @length is above max_piece().
	 */
	Result<void> prepare_piece(
		WindowAddress to, const PieceFrame &piece, uint32_t length,
		const std::function<void(std::span<std::byte>)> &fill) noexcept;
	/** Returns the most bytes of data in a frame. */
	uint32_t max_piece() const;

	/**
	 * Joins a group of windows of the job (sources.md#windows-multicast), so that this window
	 * gets a copy of each message that others send to it, and RDMA to memory that it binds. @gid:
	 * multicast address; @group: number that the windows agreed on, with the bit window_group.
	 * Windows send to it as to a node, with that address and number.
	 *
	 * Fails with EINVAL: @gid or @group; EEXIST: it is in the group, or others of the job are in
	 * it with another address; ENOSPC: 64 windows of the adapter are in it, this window is in 16
	 * groups, or the adapter in too many; EDQUOT: this user has its share of memberships
	 * (share_per_user); EADDRNOTAVAIL, EAFNOSUPPORT: the interface has no addresses of that
	 * family; ENOMEM; ESHUTDOWN: the window is disabled; EIO: the adapter is gone.
	 */
	Result<void> join(const Gid &gid, uint32_t group) noexcept;
	/** Leaves a group, and ends its bindings. Fails with EINVAL: it is not in it; EIO. */
	Result<void> leave(uint32_t group) noexcept;
	/**
	 * Binds memory of the job to a group context, below group_rcxts: RDMA of other windows to the
	 * group names offsets in it. @tid: attempts up to it are of the past, and dropped.
	 *
	 * Fails with EINVAL: @rcxt or @length, or the window is not in the group; EEXIST: it is
	 * bound; EFAULT: not memory of the job; ENOMEM; ESHUTDOWN: the window is disabled; EIO.
	 */
	Result<void> bind(uint32_t group, uint32_t rcxt, Pvo pvo,
			  uint64_t length, uint64_t tid = 0) noexcept;
	/** Ends a binding: nothing is written by it any more. Fails with EINVAL: there is none; EIO. */
	Result<void> unbind(uint32_t group, uint32_t rcxt) noexcept;

	/**
	 * Conditional operations (sources.md#windows-conditional). Writes @requests to the send
	 * FIFO, all or none, to be sent by start(). The adapter holds them until @counter is at
	 * least @target, and then carries them out in order. sent() reports first the frame that
	 * holds them, then each of them: as FrameState::held while it waits, and then released()
	 * has its outcome. Held requests do not keep others from being sent. Fails with ENOBUFS: all
	 * frames wait to be sent, or are held; EINVAL: no request, no such counter, or @target is 0.
	 */
	Result<void>
	prepare_held(uint32_t counter, uint64_t target,
		     std::span<const HeldRequest> requests) noexcept;
	/**
	 * Sets @outcomes to those of frames that sent() reported as held, each once. Return: how many
	 * are known, and set.
	 */
	size_t released(std::span<HeldOutcome> outcomes) noexcept;

	/**
	 * Write frames that change a counter, to be sent by start(). All fail with ENOBUFS: all
	 * frames wait to be sent; sent() reports bad_request: no such counter. set_counter() and
	 * clear_counter(), which sets it to 0, make a counter that has failed count again. @cancel:
	 * cancel the requests that are held for it.
	 */
	Result<void> set_counter(uint32_t counter, uint64_t value) noexcept;
	Result<void> clear_counter(uint32_t counter,
				   bool cancel = false) noexcept;
	/** Requests a frame of type counter_value with @cookie. */
	Result<void> query_counter(uint32_t counter, uint32_t cookie) noexcept;
	/**
	 * Let @counter count the operations of the peer on a context of this window that begin from
	 * now on; unbind_counter(): no more. sent() reports bad_rcxt: not a context of this window.
	 */
	Result<void> bind_counter(uint32_t counter, uint32_t rcxt) noexcept;
	Result<void> unbind_counter(uint32_t rcxt) noexcept;
	/** Writes any of these frames. Fails with EINVAL: @type; else as they do. */
	Result<void> prepare_counter(FrameType type,
				     const CounterRequest &request) noexcept;

	/**
	 * Disables the window; does not wait for CPUs that use it. After the call no CPU begins to
	 * send or receive by it, its contexts are given back, and no RDMA by it writes to memory.
	 * Frames that were not sent are lost; some get FrameState::dead. Only snapshot() and lmt()
	 * may be called after that. Fails with EIO: the adapter is gone.
	 */
	Result<void> disable() noexcept;
	/**
	 * Counts the CPUs that still use memory of the disabled window: call it until it returns 0,
	 * which takes some milliseconds. Then its FIFOs and mapped memory may be reused. Fails with
	 * EINVAL: the window is not disabled; EIO: the adapter is gone.
	 */
	Result<uint32_t> snapshot() const noexcept;

	/** Reads its local mapping table. Fails with EIO: the adapter is gone. */
	Result<Lmt> lmt() const noexcept;
	/**
	 * Returns Lmt::recoveries without a system call. Each recovery of the adapter raises
	 * recv_event, send_event and a handler; this number has counted by then.
	 */
	uint32_t recoveries() const noexcept;

private:
	explicit Window(std::unique_ptr<SharedWindow> shared);
	friend SharedWindow &shared_of(const Window &window);

	struct Heading;
	template <class Fill>
	Result<void> write_frame(const Heading &heading, size_t length,
				 Fill &&fill) noexcept;
	template <class Body>
	Result<void> write_local(FrameType type, const Body &body) noexcept;
	void pass_held() noexcept;
	bool has_space(size_t n) const noexcept;
	void note_outcomes() noexcept;
	/* Gives slots back in its destructor, since the callback may throw. */
	class Slots {
	public:
		explicit Slots(Window &window) : window_(window) {}
		~Slots() { window_.give_back(n_); }
		Slots(const Slots &) = delete;
		Slots &operator=(const Slots &) = delete;
		size_t taken() const { return n_; }

		struct One {
			explicit One(Slots &of) : slots(of) {}
			~One()
			{
				slots.window_.consume();
				slots.n_++;
			}
			One(const One &) = delete;
			One &operator=(const One &) = delete;
			Slots &slots;
		};

	private:
		Window &window_;
		size_t n_ = 0;
	};

	bool peek(Message &message) noexcept;
	void consume() noexcept;
	void give_back(size_t n) noexcept;
	Result<void> routes(uint16_t node, const Gid &gid,
			    const RouteOptions &options,
			    uint16_t flags) noexcept;

	std::unique_ptr<SharedWindow> shared_;
	/** Numbers of frames written, started, and reported by sent(). */
	uint32_t written_ = 0;
	uint32_t started_ = 0;
	uint32_t reported_ = 0;
	/** All slots were used once. */
	bool lapped_ = false;
	/** Frames consumed. */
	uint32_t consumed_ = 0;
	/** Frames written and reported, without slots that were passed over. */
	uint32_t frames_ = 0;
	uint32_t sent_ = 0;
	/** Frames that were reported as held: their slots; the state is held until it is known. */
	struct Held {
		HeldOutcome outcome;
		uint32_t slot;
	};
	std::vector<Held> held_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_WINDOW_HPP
