// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-mpi-check: an MPI program that knows what every byte must be. All ranks
 * send to all others, in sizes on both sides of every protocol change of an MPI
 * library; collectives whose results can be computed beforehand; one-sided puts,
 * gets and atomics. The first wrong byte ends the job with rank and place.
 *
 * Owns: the checks. Called by: guest.sh, through mpirun.
 */
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../common/pattern.h"

namespace {

using bytes = std::vector<uint8_t>;

int rank, ranks;
uint64_t checked;

[[noreturn]] void give_up(const std::string &why)
{
	std::fprintf(stderr, "rank %d: %s\n", rank, why.c_str());
	MPI_Abort(MPI_COMM_WORLD, 1);
	std::abort();
}

void want_equal(const char *what, int64_t got, int64_t want)
{
	if (got != want)
		give_up(std::string(what) + " is " + std::to_string(got) +
			", not " + std::to_string(want));
	checked += sizeof(got);
}

/* A message's own pattern: who sends it, who gets it, which one it is. */
uint64_t seed_of(int from, int to, int number)
{
	return (uint64_t(from) << 40) | (uint64_t(to) << 20) | uint64_t(number);
}

bytes filled(size_t length, uint64_t seed)
{
	bytes memory(length);

	pattern_fill(memory.data(), length, seed, 0);
	return memory;
}

void want_pattern(const char *what, const uint8_t *memory, size_t length,
		  uint64_t seed)
{
	const int64_t wrong = pattern_verify(memory, length, seed, 0);

	if (wrong >= 0)
		give_up(std::string(what) + " of " + std::to_string(length) +
			" bytes is wrong from byte " + std::to_string(wrong));
	checked += length;
}

/* Everybody to everybody at once, the sizes going in both directions. */
void point_to_point()
{
	static const int sizes[] = {0,	  1,	 7,	64,    1023,   4096,
				    8193, 12289, 32768, 65537, 262143, 1048579};
	int number = 0;

	for (int size : sizes) {
		std::vector<bytes> in(ranks), out(ranks);
		std::vector<MPI_Request> requests;

		for (int peer = 0; peer < ranks; peer++) {
			in[peer].resize(size);
			out[peer] = filled(size, seed_of(rank, peer, number));
			requests.resize(requests.size() + 2);
			MPI_Irecv(in[peer].data(), size, MPI_BYTE, peer, number,
				  MPI_COMM_WORLD, &requests.end()[-2]);
			MPI_Isend(out[peer].data(), size, MPI_BYTE, peer,
				  number, MPI_COMM_WORLD, &requests.end()[-1]);
		}
		MPI_Waitall(int(requests.size()), requests.data(),
			    MPI_STATUSES_IGNORE);
		for (int peer = 0; peer < ranks; peer++)
			want_pattern("message", in[peer].data(), size,
				     seed_of(peer, rank, number));
		number++;
	}
}

/* Many small ones that arrive before they are asked for, taken from anybody:
 * those of one sender must come in their order. */
void unexpected()
{
	const int each = 64, length = 200;
	const int total = each * (ranks - 1);
	std::vector<int> next(ranks);
	std::vector<bytes> out;
	std::vector<MPI_Request> requests;

	out.reserve(total);
	for (int peer = 0; peer < ranks; peer++)
		for (int i = 0; peer != rank && i < each; i++) {
			out.push_back(
				filled(length, seed_of(rank, peer, 1000 + i)));
			requests.emplace_back();
			MPI_Isend(out.back().data(), length, MPI_BYTE, peer, 99,
				  MPI_COMM_WORLD, &requests.back());
		}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < total; i++) {
		MPI_Status status;
		bytes in(length);

		MPI_Recv(in.data(), length, MPI_BYTE, MPI_ANY_SOURCE, 99,
			 MPI_COMM_WORLD, &status);
		const int from = status.MPI_SOURCE;
		want_pattern("unexpected message", in.data(), length,
			     seed_of(from, rank, 1000 + next[from]++));
	}
	MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE);
}

void collectives()
{
	const int count = 20000;
	std::vector<int64_t> mine(count), sum(count);
	bytes shared = filled(300001, rank == 0 ? seed_of(0, 0, 2000) : 0);

	MPI_Bcast(shared.data(), int(shared.size()), MPI_BYTE, 0,
		  MPI_COMM_WORLD);
	want_pattern("broadcast", shared.data(), shared.size(),
		     seed_of(0, 0, 2000));

	for (int i = 0; i < count; i++)
		mine[i] = int64_t(i) * (rank + 1);
	MPI_Allreduce(mine.data(), sum.data(), count, MPI_INT64_T, MPI_SUM,
		      MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		want_equal("sum", sum[i], int64_t(i) * ranks * (ranks + 1) / 2);

	/* rank A gives rank B 1000 * A + 17 * B + 1 bytes */
	auto share = [](int from, int to) { return 1000 * from + 17 * to + 1; };
	std::vector<int> in_sizes, in_at, out_sizes, out_at;
	bytes in, out;

	for (int peer = 0; peer < ranks; peer++) {
		const bytes part =
			filled(share(rank, peer), seed_of(rank, peer, 2001));

		out_at.push_back(int(out.size()));
		out_sizes.push_back(int(part.size()));
		out.insert(out.end(), part.begin(), part.end());
		in_at.push_back(int(in.size()));
		in_sizes.push_back(share(peer, rank));
		in.resize(in.size() + share(peer, rank));
	}
	MPI_Alltoallv(out.data(), out_sizes.data(), out_at.data(), MPI_BYTE,
		      in.data(), in_sizes.data(), in_at.data(), MPI_BYTE,
		      MPI_COMM_WORLD);
	for (int peer = 0; peer < ranks; peer++)
		want_pattern("all-to-all", in.data() + in_at[peer],
			     in_sizes[peer], seed_of(peer, rank, 2001));
}

/* A window of which every rank owns a counter and a slot for each rank. */
class Shared {
public:
	static constexpr int length = 40001;

	Shared()
	{
		MPI_Win_allocate(64 + MPI_Aint(stride) * ranks, 1,
				 MPI_INFO_NULL, MPI_COMM_WORLD, &base_,
				 &window_);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window_);
		counter() = 0;
		MPI_Win_unlock(rank, window_);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	~Shared() { MPI_Win_free(&window_); }
	Shared(const Shared &) = delete;
	Shared &operator=(const Shared &) = delete;

	void put(int to, const bytes &data)
	{
		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window_);
		MPI_Put(data.data(), length, MPI_BYTE, to, at(rank), length,
			MPI_BYTE, window_);
		MPI_Win_unlock(to, window_);
	}
	bytes get(int from, int slot)
	{
		bytes data(length);

		MPI_Win_lock(MPI_LOCK_SHARED, from, 0, window_);
		MPI_Get(data.data(), length, MPI_BYTE, from, at(slot), length,
			MPI_BYTE, window_);
		MPI_Win_unlock(from, window_);
		return data;
	}
	int64_t add_one(int where)
	{
		const int64_t one = 1;
		int64_t before = -1;

		MPI_Win_lock(MPI_LOCK_SHARED, where, 0, window_);
		MPI_Fetch_and_op(&one, &before, MPI_INT64_T, where, 0, MPI_SUM,
				 window_);
		MPI_Win_unlock(where, window_);
		return before;
	}

private:
	static constexpr int stride = 64 * ((length + 63) / 64);

	static MPI_Aint at(int slot) { return 64 + MPI_Aint(stride) * slot; }
	int64_t &counter() { return *reinterpret_cast<int64_t *>(base_); }

	uint8_t *base_ = nullptr;
	MPI_Win window_;
};

void one_sided()
{
	const int rounds = 50;
	Shared shared;

	for (int peer = 0; peer < ranks; peer++)
		shared.put(peer,
			   filled(Shared::length, seed_of(rank, peer, 3000)));
	MPI_Barrier(MPI_COMM_WORLD);
	/* of every rank: what I have put there, and what the one after me has */
	for (int peer = 0; peer < ranks; peer++)
		for (int from : {rank, (rank + 1) % ranks})
			want_pattern("slot", shared.get(peer, from).data(),
				     Shared::length, seed_of(from, peer, 3000));

	/* all add to rank 0's counter: each sees growing values below the sum */
	int64_t seen = -1;

	for (int i = 0; i < rounds; i++) {
		const int64_t before = shared.add_one(0);

		if (before <= seen || before >= int64_t(rounds) * ranks)
			give_up("fetch-and-add gave " + std::to_string(before) +
				" after " + std::to_string(seen));
		seen = before;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		want_equal("counter", shared.add_one(0),
			   int64_t(rounds) * ranks);
	MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2 || ranks != std::atoi(argv[1]))
		give_up("usage: pavo-mpi-check RANKS, and so many there must be");
	point_to_point();
	unexpected();
	collectives();
	one_sided();
	MPI_Reduce(&checked, &total, 1, MPI_UINT64_T, MPI_SUM, 0,
		   MPI_COMM_WORLD);
	if (rank == 0)
		std::printf("%d ranks, %llu bytes checked\n", ranks,
			    static_cast<unsigned long long>(total));
	MPI_Finalize();
	return 0;
}
