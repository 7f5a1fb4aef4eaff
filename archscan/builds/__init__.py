"""What a build would make with given settings: its images, for which GPUs they are enough, what to set for one."""

from archscan.builds.model import Advice, Build, Dropped, Made, gets

__all__ = ["Advice", "Build", "Dropped", "Made", "gets"]
