// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window.hpp - windows: messages between processes of a job, by FIFOs that they share
 * with the adapter (sources.md#windows-window).
 */
#ifndef PAVO_WINDOW_HPP
#define PAVO_WINDOW_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <pavo/address.hpp>
#include <pavo/frame.hpp>
#include <pavo/job.hpp>

namespace pavo {

class SharedWindow;

struct WindowOptions {
	/** Number of this machine in the job. */
	uint16_t node = 0;
	/** Frames of the FIFOs: powers of two, 16 to 32768. */
	uint32_t send_frames = 64;
	uint32_t recv_frames = 256;
	/** Machines that it may send to: numbers below that. */
	uint32_t nodes = 64;
	/** Which address of the adapter it uses: an index of its GID table. */
	uint16_t gid_index = 0;
	/** eventfds, -1: none. For several that take turns see handler.hpp. */
	int recv_event = -1;
	int send_event = -1;
	/** A flag of the local mapping table (sources.md#windows-lmt); nothing sends so. */
	bool broadcast = false;
};

struct RouteOptions {
	/** UDP source ports, each a route: 1 to 16; 0: the usual number, 4. */
	uint16_t ports = 0;
	/** Another address of the adapter than the window's. */
	std::optional<uint16_t> gid_index = {};
};

/** Where a message came from, and what it says; the bytes are in the FIFO. */
struct Message {
	WindowAddress from;
	std::span<const std::byte> payload;
	/** A message, or of RDMA: see done(), piece(), request(). */
	FrameType type = FrameType::message;
	/** Of message_kind; 0 where it is no message. */
	uint8_t kind = message_kind::plain;

	/** The end of an RDMA operation. */
	DoneFrame done() const;
	/** Some of its data, which follows in the payload; FIFO in place of memory. */
	PieceFrame piece() const;
	std::span<const std::byte> piece_bytes() const;
	/** Data that another end asks for, FrameType::rdma_read. */
	RequestFrame request() const;
};

/** State of a window; none: its adapter is gone. */
enum class WindowState : uint32_t {
	none = 0,
	valid = 1,
	dead = 2, /* after a request that named memory that is not its job's */
	disabled = 3,
};

/** The local mapping table of a window (sources.md#windows-lmt). */
struct Lmt {
	WindowState state = WindowState::none;
	/** Numbers. */
	uint32_t window = 0;
	uint32_t job = 0;
	/** Frames that have arrived; the slot of the next is that modulo recv_frames. */
	uint32_t recv_frames = 0;
	uint32_t recv_count = 0;
	/** Slots for frames that may arrive. */
	uint32_t recv_free = 0;
	/** Frames until the event; 0: none. */
	uint32_t recv_threshold = 0;
	uint32_t send_frames = 0;
	uint32_t send_count = 0;
	/** Ready to be sent; without those of the turn under way. */
	uint32_t send_ready = 0;
	uint32_t send_threshold = 0;
	/** Frames of it that are sent in a turn. */
	uint32_t quantum = 0;
	/** Contexts that are queued to send; 0 if there are none. */
	uint32_t rcxts = 0;
	uint32_t rcxt_head = 0;
	uint32_t rcxt_tail = 0;
	/** Context of the request after which the window was dead. */
	uint32_t fatal_rcxt = 0;
	/** Contexts that it took from the adapter's pool. */
	uint32_t rcxts_owned = 0;
	/** Of the adapter: with each all contexts were gone. */
	uint32_t recoveries = 0;
	/** 1: WindowOptions::broadcast. */
	uint32_t flags = 0;
	/** Frames until the early event; 0: none. */
	uint32_t recv_early = 0;
	/** Handlers, and those that are ready: a bit for each number. */
	uint32_t handlers = 0;
	uint32_t handlers_ready = 0;
	/** 1: an event is remembered for the next that is ready. */
	uint32_t event_kept = 0;
	/** Rest of its turn: frames, then packets of RDMA; 0: it has none. */
	uint32_t quantum_left = 0;
	uint32_t node = 0;
	/** Eventfds that it was opened with: 1: recv_event; 2: send_event. */
	uint32_t events = 0;
	/** The key in its packets; 0 for readers without CAP_NET_ADMIN. */
	uint64_t key = 0;
	/** Offsets of the FIFOs in the uverbs file. */
	uint64_t recv_offset = 0;
	uint64_t send_offset = 0;
};

/**
 * A window. Messages may be lost, and overtake each other; none comes twice by the
 * adapter's doing. For one thread at a time.
 */
class Window {
public:
	/**
	 * @job: has to live as long as the window
	 * Fails with EINVAL: options; ENOSPC: the adapter has as many windows as it may
	 * (parameter max_windows); EDQUOT: so has this user (share_per_user); ENOMEM: more
	 * than may be locked, or no memory left; EMSGSIZE: the interface's MTU is too small.
	 */
	static Result<Window> open(const Job &job,
				   const WindowOptions &options = {}) noexcept;
	~Window();
	/** Not while an Rcxts, an Rdma or a Striped has it. */
	Window(Window &&from) noexcept;
	Window &operator=(Window &&from) noexcept;

	/** In messages of others it is the window's number; of this adapter. */
	uint32_t number() const;
	/** The address that other windows of the job send to. */
	WindowAddress address() const;
	/**
	 * The address of the adapter that its packets come from, which set_node() of others takes:
	 * entry WindowOptions::gid_index of the GID table. Fails as Device::gid().
	 */
	Result<Gid> gid() const noexcept;
	/** Bytes of a message; the interface's MTU decides, up to 2032. */
	size_t max_payload() const;

	/**
	 * The address of a node: routes to it, which packets take in turn, instead of
	 * those that there were; or beside them (sources.md#windows-striping).
	 * Fails with EINVAL: no such node or address; ENOSPC: more than 64; ENOMEM. Routes
	 * stay as they were then.
	 */
	Result<void> set_node(uint16_t node, const Gid &gid,
			      const RouteOptions &options = {}) noexcept;
	Result<void> add_route(uint16_t node, const Gid &gid,
			       const RouteOptions &options = {}) noexcept;

	/**
	 * Sends a message. @kind: what it is to its receiver, of message_kind.
	 * Fails with ENOBUFS: all frames are waiting to be sent; EMSGSIZE: longer than
	 * max_payload().
	 */
	Result<void> send(WindowAddress to, std::span<const std::byte> payload,
			  uint8_t kind = message_kind::plain) noexcept;
	/** The same, but nothing happens before start(). */
	Result<void> prepare(WindowAddress to,
			     std::span<const std::byte> payload,
			     uint8_t kind = message_kind::plain) noexcept;
	Result<void> start() noexcept;

	/**
	 * Sets @states to the outcome of sent frames, in order; each is reported once.
	 * Return: how many are known, and set.
	 */
	size_t sent(std::span<FrameState> states) noexcept;
	/** sent() leaves out all frames that were sent so far. */
	void forget_sent() noexcept { asked_ = written_; }

	/**
	 * Calls @take(Message) for what has arrived, at most @most times; the
	 * bytes may be overwritten after that. Return: how often.
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
	/** Frames taken since it was opened, modulo 2^32; compare it with Lmt::recv_count. */
	uint32_t received() const { return consumed_; }

	/**
	 * An event when the @n-th message from now has arrived; 0, and what is above
	 * 2^31 - 1: none. Messages that came before do not count: look for messages
	 * after that, then wait.
	 */
	Result<void> recv_threshold(uint32_t n) noexcept;
	/**
	 * In place of that: an event as soon as the @n-th message, or end of RDMA, is
	 * about to be written, so that waking up takes no time of its own. A thread that
	 * wakes calls receive() until there is a message, for some microseconds. If none
	 * comes, the program has seen the message of that event before: ask for the next.
	 */
	Result<void> recv_threshold_early(uint32_t n) noexcept;
	Result<void> send_threshold(uint32_t n) noexcept;

	/**
	 * Takes RDMA contexts from the adapter's pool: sets @rcxts to their numbers; takes none on
	 * error. Rcxts (rcxt.hpp) gives them back in its destructor.
	 * Fails with ENOSPC: the adapter has not so many left (parameter max_rcxts); EDQUOT:
	 * nor may this user have so many (share_per_user); ENOMEM; ESHUTDOWN: the window
	 * was disabled.
	 */
	Result<void> take_rcxts(std::span<uint32_t> rcxts) noexcept;
	/**
	 * Gives contexts back. Fails with EBUSY: one has data to send: cancel() it first; EINVAL;
	 * EIO.
	 */
	Result<void> return_rcxts(std::span<const uint32_t> rcxts) noexcept;
	/**
	 * Aborts operations by contexts: no more of them is sent or placed. Operations of peers
	 * that have not begun here may still begin, and may be tried again: only return_rcxts()
	 * and unmapping the memory are final. Fails with EINVAL: one is not this window's; EIO.
	 */
	Result<void> cancel(std::span<const uint32_t> rcxts) noexcept;

	/**
	 * A request for RDMA; nothing happens before start(). sent() tells the outcome of
	 * its frame, in the order of frames. Messages tell the end of its data, here or
	 * there, as request.flags say.
	 */
	Result<void> prepare_rdma(Direction direction, WindowAddress to,
				  const RequestFrame &request) noexcept;

	/**
	 * Some of the data of an operation: @fill writes @length bytes, up to
	 * piece_room(), to where it is told, and throws nothing. Likewise.
	 */
	Result<void> prepare_piece(
		WindowAddress to, const PieceFrame &piece, uint32_t length,
		const std::function<void(std::span<std::byte>)> &fill) noexcept;
	uint32_t piece_room() const;

	/**
	 * Disables the window; does not wait for CPUs that use it. When this has returned no CPU
	 * begins to send or receive by it, its contexts are gone, and no RDMA by it writes to
	 * memory. Frames that were not sent are lost; some get FrameState::dead. Only snapshot()
	 * and lmt() may be called after that. Fails with EIO: the adapter is gone.
	 */
	Result<void> disable() noexcept;
	/**
	 * Counts the CPUs that may still use memory of the disabled window. Return: 0: none from
	 * now on, its FIFOs and mapped memory may be used for something else; else call it again,
	 * for some milliseconds. Fails with EINVAL: it is not disabled; EIO: the adapter is gone.
	 */
	Result<uint32_t> snapshot() const noexcept;

	/** Its local mapping table. Fails with EIO: the adapter is gone. */
	Result<Lmt> lmt() const noexcept;

private:
	explicit Window(std::unique_ptr<SharedWindow> shared);
	friend SharedWindow &shared_of(const Window &window);

	struct Heading;
	template <class Fill>
	Result<void> write_frame(const Heading &heading, size_t length,
				 Fill &&fill) noexcept;
	/* Slots that are given back also where what is called throws. */
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
	/** Frames written, of those started, and of those asked for. */
	uint32_t written_ = 0;
	uint32_t started_ = 0;
	uint32_t asked_ = 0;
	/** All slots were used once. */
	bool lapped_ = false;
	/** Frames consumed. */
	uint32_t consumed_ = 0;
};

} // namespace pavo

#endif // PAVO_WINDOW_HPP
